{# What has arrived by now: everything, or as far as AUTO_CDC_ARRIVAL says. The models over it re-read all of it. #}
{{ config(materialized='view') }}
select * from {{ ref('users_feed') }}
where arrival <= {{ env_var('AUTO_CDC_ARRIVAL', '3') }}
