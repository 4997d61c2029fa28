{# A warning where the profile takes away what makes a run all or nothing. #}
{% macro _missing_transactions() %}
  {% set profile = adapter.config.credentials %}
  {% if profile.disable_transactions is defined and profile.disable_transactions %}
    {{ return(['disable_transactions is set in the profile, so a run that stops half way leaves half of its rows; unset it']) }}
  {% endif %}
  {{ return([]) }}
{% endmacro %}
