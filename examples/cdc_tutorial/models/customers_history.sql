{{ config(
    materialized='auto_cdc',
    keys=['id'],
    sequence_by='operation_date',
    apply_as_deletes="operation = 'DELETE'",
    except_column_list=['operation', 'operation_date', '_rescued_data'],
    stored_as_scd_type=2,
) }}
select * from {{ auto_cdc.stream(ref('customers_cdc_clean')) }} as changes
