{#
  For the worked examples: fails with each row that the model has and `expected` has not, and the other way round.
  Rows are compared as multisets, columns by name.
#}
{% test equals(model, expected) %}
{% if execute %}
  {% set wanted = adapter.get_columns_in_relation(expected) | map(attribute='name') | list %}
  {% set found = adapter.get_columns_in_relation(model) | map(attribute='name') | list %}
  {% if wanted | map('lower') | sort != found | map('lower') | sort %}
    {% do exceptions.raise_compiler_error(
      model ~ ' has the columns ' ~ found | join(', ') ~ '; expected are ' ~ wanted | join(', ')
    ) %}
  {% endif %}
  {% set columns = wanted | join(', ') %}
select {{ columns }}, sum(copies) as rows_too_many
from (
    select {{ columns }}, 1 as copies from {{ model }}
    union all
    select {{ columns }}, -1 as copies from {{ expected }}
) as compared
group by {{ columns }}
having sum(copies) <> 0
{% endif %}
{% endtest %}
