{{ config(materialized='append_flow') }}
select *
from {{ auto_cdc.read_files(
    'landing/*.json',
    schema_hints='id uuid, operation_date varchar',
) }} as files
