{# What a macro for reading was given, with the columns that it has, for Python. #}
{% macro _history(macro, relation) %}
  {{ return(auto_cdc._python().history(
    model=model.name if model is defined else 'none', macro=macro, relation=relation, columns=[] if relation is string else auto_cdc._columns_of(relation)
  )) }}
{% endmacro %}
