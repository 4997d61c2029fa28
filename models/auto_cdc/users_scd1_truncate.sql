{{ config(
    materialized='auto_cdc',
    keys=['userId'],
    sequence_by='sequenceNum',
    apply_as_deletes="operation = 'DELETE'",
    apply_as_truncates="operation = 'TRUNCATE'",
    except_column_list=['operation', 'sequenceNum'],
) }}
select userId, name, city, operation, sequenceNum
from {{ ref('users_arrived') }}
