{{ config(
    materialized='auto_cdc',
    keys=['id'],
    sequence_by='seq',
    apply_as_deletes="op = 'delete'",
    column_list=['id', 'email', 'phone', 'city'],
    stored_as_scd_type=2,
    ignore_null_updates=true,
) }}
select * from {{ ref('sparse_arrived') }}
