{{ config(
    materialized='auto_cdc',
    keys=['id'],
    sequence_by='operation_date',
    apply_as_deletes="operation = 'DELETE'",
    except_column_list=['operation', 'operation_date', '_rescued_data'],
) }}
select * from {{ auto_cdc.stream(ref('customers_cdc_clean')) }} as changes
