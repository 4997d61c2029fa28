{{ config(
    materialized='auto_cdc_snapshot',
    keys=['userId'],
    snapshot_version='version',
    stored_as_scd_type=2,
) }}
select version, userId, city
from {{ ref('users_dumps_waiting') }}
