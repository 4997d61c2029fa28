{#
  Opens a run's transaction where dbt does not, before hooks can look at anything in it.
  Where every statement commits itself there would be no lock, and no working table would outlive its statement.
#}
{% macro _begin_run() %}
  {% if auto_cdc._python().begin(adapter_type=adapter.type()) %}
    {% if adapter.config.credentials.autocommit is defined and adapter.config.credentials.autocommit %}
      {% do exceptions.raise_compiler_error(
        "auto_cdc: model " ~ model.name ~ ": autocommit is set in the profile, and a run has to be one transaction; unset it"
      ) %}
    {% endif %}
    {% do auto_cdc._begin() %}
  {% endif %}
{% endmacro %}
