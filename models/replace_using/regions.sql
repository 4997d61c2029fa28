{{ config(materialized='replace_using', replace_using=['region_id'], sequence_by='seq') }}
select region_id, device_type, event_type, seq
from {{ ref('region_events') }}
where arrival <= {{ env_var('AUTO_CDC_ARRIVAL', '3') }}
