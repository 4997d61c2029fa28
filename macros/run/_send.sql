{#
  Sends one statement of a plan, inside the model's transaction, and returns its first row and how many it wrote. Where
  an engine needs more statements for it, these go first.
#}
{% macro _send(name, sql) %}
  {% set sent = auto_cdc._python().statements(adapter_type=adapter.type(), sql=sql) %}
  {% for each in sent[:-1] %}
    {% do auto_cdc._tell_engine(each) %}
  {% endfor %}
  {% set fetches = auto_cdc._python().gives_rows(adapter_type=adapter.type(), sql=sent[-1]) %}
  {% call statement('auto_cdc', fetch_result=fetches, auto_begin=true) %}
{{ sent[-1] }}
  {% endcall %}
  {{ return(auto_cdc._python().sent(load_result('auto_cdc'))) }}
{% endmacro %}
