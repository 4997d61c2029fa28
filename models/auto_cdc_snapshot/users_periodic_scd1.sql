{{ config(
    materialized='auto_cdc_snapshot',
    keys=['userId'],
    snapshot_version='version',
) }}
select version, userId, city
from {{ ref('users_dumps_waiting') }}
