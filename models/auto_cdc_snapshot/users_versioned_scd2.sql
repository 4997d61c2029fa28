{# Files are read as they come in. A plain `dbt build` reads all at once, and the third would not be late: it stays out. #}
{% set arrival = env_var('AUTO_CDC_ARRIVAL', '') %}
{{ config(
    materialized='auto_cdc_snapshot',
    keys=['userId'],
    snapshot_version="cast(replace(replace(file_name, 'snapshot_', ''), '.csv', '') as integer)",
    except_column_list=['file_name'],
    stored_as_scd_type=2,
) }}
select file_name, userId, city
from {{ ref('users_files') }}
where arrival {{ '= ' ~ arrival if arrival else '<= 2' }}
