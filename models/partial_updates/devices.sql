{{ config(
    materialized='auto_cdc',
    keys=['id'],
    sequence_by='sequenceNum',
    columns_to_update='columnsToUpdate',
    except_column_list=['columnsToUpdate', 'sequenceNum'],
) }}
select id, name, room, battery, sequenceNum, string_to_array(columnsToUpdate, '+') as columnsToUpdate
from {{ ref('device_updates') }}
where arrival <= {{ env_var('AUTO_CDC_ARRIVAL', '3') }}
