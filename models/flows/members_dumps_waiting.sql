{# The dumps that wait to be read: those of one arrival where AUTO_CDC_ARRIVAL says which, else all but the late one. #}
{{ config(materialized='view') }}
{% set arrival = env_var('AUTO_CDC_ARRIVAL', '') %}
select member_id, level, taken
from {{ ref('members_dumps') }}
where arrival {{ '= ' ~ arrival if arrival else '<= 2' }}
