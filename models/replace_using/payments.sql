{{ config(materialized='replace_using', replace_using=['payment_id'], sequence_by='payment_date') }}
select payment_id, status, payment_date
from {{ ref('payment_events') }}
where arrival <= {{ env_var('AUTO_CDC_ARRIVAL', '3') }}
