{{ config(
    materialized='append_flow',
    expect_all_or_drop={
        'no_rescued_data': '_rescued_data is null',
        'valid_id': 'id is not null',
        'valid_operation': "operation in ('APPEND', 'DELETE', 'UPDATE')",
    },
) }}
select
    id, firstname, lastname, email, address, operation,
    strptime(operation_date, '%m-%d-%Y %H:%M:%S') as operation_date,
    _rescued_data
from {{ auto_cdc.stream(ref('customers_cdc_bronze')) }} as messages
