{{ config(
    materialized='auto_cdc',
    keys=['companyId'],
    sequence_by='sequencing',
    system_sequence_by='systemSequencing',
    apply_as_deletes="operation = 'DELETE'",
    except_column_list=['sequencing', 'systemSequencing', 'operation'],
    stored_as_scd_type='bitemporal',
) }}
select companyId, dataElement, sequencing, systemSequencing, operation
from {{ ref('company_changes') }}
where change <= 1
