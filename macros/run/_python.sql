{#
  The Python half of the package: every macro that needs a decision goes through here.
  Undefined names render as nothing in Jinja, so a missing half is refused in words before anything else happens.
#}
{% macro _python() %}
  {% set version = '0.1.0' %}
  {% if modules.auto_cdc is not defined %}
    {% do exceptions.raise_compiler_error(
      "auto_cdc: the Python half of this package is missing, or could not be loaded, in dbt " ~ dbt_version
      ~ "; run `pip install dbt-auto-cdc==" ~ version ~ "` in the environment that runs dbt. "
      ~ "It needs dbt-core 1.8 or later 1.x: dbt Fusion and dbt v2 cannot load Python packages. "
      ~ "Where it is installed already, `python -c 'import dbt_auto_cdc.plugin'` tells what is wrong; "
      ~ "and dbt does not see editable installs that work through an import finder instead of a .pth file."
    ) %}
  {% endif %}
  {% do modules.auto_cdc.handshake(version) %}
  {{ return(modules.auto_cdc) }}
{% endmacro %}
