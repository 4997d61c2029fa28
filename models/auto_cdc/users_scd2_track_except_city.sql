{{ config(
    materialized='auto_cdc',
    keys=['userId'],
    sequence_by='sequenceNum',
    apply_as_deletes="operation = 'DELETE'",
    except_column_list=['operation', 'sequenceNum'],
    stored_as_scd_type=2,
    track_history_except_column_list=['city'],
) }}
select userId, name, city, operation, sequenceNum
from {{ ref('users_arrived') }}
where operation <> 'TRUNCATE'
