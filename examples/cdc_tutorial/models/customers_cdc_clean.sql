{{ config(
    materialized='append_flow',
    expect_all_or_drop={
        'no_rescued_data': '_rescued_data is null',
        'valid_id': 'id is not null',
        'valid_operation': "operation in ('APPEND', 'DELETE', 'UPDATE')",
        'valid_operation_date': 'operation_date is not null',
    },
) }}
select
    id, firstname, lastname, email, address, operation,
    try_strptime(operation_date, '%m-%d-%Y %H:%M:%S') as operation_date,
    _rescued_data
from {{ auto_cdc.stream(ref('customers_cdc_bronze')) }} as messages
