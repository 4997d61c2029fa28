{# What has arrived by now: everything, or as far as AUTO_CDC_ARRIVAL says. #}
{{ config(materialized='view') }}
select * from {{ ref('sparse_changes') }}
where arrival <= {{ env_var('AUTO_CDC_ARRIVAL', '3') }}
