{# What the WHERE drops replaces nothing, however high its sequence. #}
{{ config(materialized='replace_using', replace_using=['booking_id'], sequence_by='booking_update_id') }}
select property_id, booking_id, status, total_amount, booking_update_id
from {{ ref('booking_updates') }}
where total_amount > 0
    and arrival <= {{ env_var('AUTO_CDC_ARRIVAL', '3') }}
