{{ config(
    materialized='auto_cdc',
    keys=['member_id'],
    sequence_by='position',
    apply_as_deletes="operation = 'DELETE'",
    column_list=['member_id', 'level'],
) }}

{% call auto_cdc.flow('feed') %}
select member_id, level, operation, position from {{ ref('members_arrived') }}
{% endcall %}

{% call auto_cdc.flow('dumps', snapshot_version='taken') %}
select member_id, level, taken from {{ ref('members_dumps_waiting') }}
{% endcall %}
