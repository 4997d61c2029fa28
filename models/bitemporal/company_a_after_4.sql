{# The others are built from the changes so far; this one goes from each to the next as they arrive. #}
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
where change <= {{ env_var('AUTO_CDC_ARRIVAL', '3') | int + 1 }}
