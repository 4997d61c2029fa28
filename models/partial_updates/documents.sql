{{ config(
    materialized='auto_cdc',
    keys=['id'],
    sequence_by='lsn',
    except_column_list=['lsn'],
    ignore_null_updates_column_list=['body'],
) }}
select id, title, nullif(body, '__debezium_unavailable_value') as body, lsn
from {{ ref('document_changes') }}
where arrival <= {{ env_var('AUTO_CDC_ARRIVAL', '3') }}
