{# What one feed gives in users_scd2, from three: each has its own way to tell a delete, and one its own names. #}
{{ config(
    materialized='auto_cdc',
    keys=['userId'],
    sequence_by='sequenceNum',
    column_list=['userId', 'name', 'city'],
    stored_as_scd_type=2,
) }}

{% call auto_cdc.flow('north', apply_as_deletes="operation = 'DELETE'") %}
select userId, name, city, operation, sequenceNum from {{ ref('users_arrived') }} where userId = 123
{% endcall %}

{% call auto_cdc.flow('south', sequence_by='changed_at', apply_as_deletes='is_gone') %}
select city, name, userId, sequenceNum as changed_at, operation = 'DELETE' as is_gone
from {{ ref('users_arrived') }}
where userId = 125
{% endcall %}

{% call auto_cdc.flow('elsewhere') %}
select userId, name, city, sequenceNum from {{ ref('users_arrived') }} where userId not in (123, 125)
{% endcall %}
