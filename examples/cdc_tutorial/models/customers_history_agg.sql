{{ config(materialized='table') }}
select
    id,
    count(address) as address_count,
    count(email) as email_count,
    count(firstname) as firstname_count,
    count(lastname) as lastname_count
from {{ ref('customers_history') }}
group by id
