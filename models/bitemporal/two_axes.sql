{{ config(
    materialized='auto_cdc',
    keys=['id'],
    sequence_by='bt',
    system_sequence_by='st',
    except_column_list=['bt', 'st'],
    stored_as_scd_type='bitemporal',
) }}
select id, x, y, bt, st
from {{ ref('two_axes_feed') }}
