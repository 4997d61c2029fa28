{#
  The names of the tables that are beside a target, of those that may be. After the first of several turns the change
  feed is there, though the catalog was asked before.
#}
{% macro _beside_there(opened, target, is_first=true) %}
  {% set there = [] %}
  {% for identifier in auto_cdc._python().beside_identifiers(target.identifier, adapter.type()) %}
    {% if load_cached_relation(auto_cdc._beside(target, identifier)) is not none %}
      {% do there.append(identifier) %}
    {% endif %}
  {% endfor %}
  {% if opened.feeds and not is_first %}
    {% do there.append(opened.relations.changes_identifier) %}
  {% endif %}
  {{ return(there) }}
{% endmacro %}
