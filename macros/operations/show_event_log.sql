{# Prints the last runs of a model, or of all, from the event logs of the project's schemas. #}
{% macro show_event_log(model=none, last=20, failed=false) %}
  {% if execute %}
    {% set cdc = auto_cdc._python() %}
    {% do cdc.require_log(name=model or '(all)', adapter_type=adapter.type()) %}
    {% set logs = [] %}
    {% for node in cdc.find_models(resolver=builtins.ref, wanted=none) %}
      {% set log = api.Relation.create(
        database=node.database, schema=node.schema, identifier=cdc.event_log_identifier(), type='table'
      ) %}
      {% if log not in logs and load_cached_relation(log) is not none %}
        {% do logs.append(log) %}
      {% endif %}
    {% endfor %}
    {% set query = cdc.log_query(relations=logs | map('string') | list, model=model, last=last, failed=failed) %}
    {% do print(cdc.log_text(rows=auto_cdc._ask(query) if query else [])) %}
  {% endif %}
{% endmacro %}
