{{ config(materialized='append_flow') }}
select *
from {{ auto_cdc.read_files(var('landing', 'landing') ~ '/*.json', format='json', schema_hints='id string, operation_date string') }}
