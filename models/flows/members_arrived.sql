{# The changes that have arrived by now: everything, or as far as AUTO_CDC_ARRIVAL says. #}
{{ config(materialized='view') }}
select member_id, level, operation, position
from {{ ref('members_feed') }}
where arrival <= {{ env_var('AUTO_CDC_ARRIVAL', '3') }}
