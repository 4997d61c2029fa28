{# What other engines call `split` has another name on PostgreSQL. #}
{% set split = 'string_to_array' if target.type == 'postgres' else 'split' %}
{{ config(
    materialized='auto_cdc',
    keys=['id'],
    sequence_by='sequenceNum',
    columns_to_update='columnsToUpdate',
    except_column_list=['columnsToUpdate', 'sequenceNum'],
) }}
select id, name, room, battery, sequenceNum, {{ split }}(columnsToUpdate, ';') as columnsToUpdate
from {{ ref('device_updates') }}
where arrival <= {{ env_var('AUTO_CDC_ARRIVAL', '3') }}
