{{ config(
    materialized='auto_cdc',
    keys=['id'],
    sequence_by='seq',
    apply_as_deletes="op = 'delete'",
    column_list=['id', 'email', 'phone', 'city'],
    ignore_null_updates_column_list=['email'],
) }}
select * from {{ ref('sparse_arrived') }}
