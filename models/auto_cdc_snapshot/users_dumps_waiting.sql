{# The dumps that wait to be read: those of one arrival where AUTO_CDC_ARRIVAL says which, else all. #}
{{ config(materialized='view') }}
{% set arrival = env_var('AUTO_CDC_ARRIVAL', '') %}
select version, userId, city
from {{ ref('users_dumps') }}
where arrival {{ '= ' ~ arrival if arrival else '<= 2' }}
