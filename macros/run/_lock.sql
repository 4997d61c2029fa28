{#
  Opens the transaction, and waits for another run of the model where the engine lets it come in between.
  Where every statement commits itself there would be no lock, and no working table would outlive its statement.
#}
{% macro _lock(opened) %}
  {% set sql = auto_cdc._python().lock(model=opened) %}
  {% if sql %}
    {% if adapter.config.credentials.autocommit is defined and adapter.config.credentials.autocommit %}
      {% do exceptions.raise_compiler_error(
        "auto_cdc: model " ~ opened.name ~ ": autocommit is set in the profile, and a run has to be one transaction; unset it"
      ) %}
    {% endif %}
    {% do auto_cdc._begin() %}
    {% call statement('auto_cdc_lock', auto_begin=true) %}
{{ sql }}
    {% endcall %}
  {% endif %}
{% endmacro %}
