{# The plan of this model's next run, as text. #}
{% macro _explained() %}
  {% set target = this.incorporate(type='table') %}
  {% do auto_cdc._send_header() %}
  {% set opened = auto_cdc._open(target) %}
  {% set plan = auto_cdc._plan(opened, target) %}
  {% do auto_cdc._assert_contract(opened, plan) %}
  {{ return(auto_cdc._python().explain(model=opened, plan=plan)) }}
{% endmacro %}
