"""Every morning the rows of the day before are added to the lineage, and what is new goes to the backend.

The workers have ``exporter`` and ``daily`` on their PATH, and in their environment ROWS, LINEAGE, EXPORTER_ACCOUNT (see
deploy/daily) and OPENLINEAGE_URL. With FETCH_CONNECTION the first task fetches the rows,
too. For Airflow 3.
"""

from datetime import UTC, datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

DAY = "{{ macros.ds_add(data_interval_end | ds, -1) }}"

with DAG(
    "access_history_lineage",
    schedule="0 6 * * *",  # UTC; the view is up to three hours late
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,  # one folder is updated by one run at a time
    default_args={"retries": 3, "retry_delay": timedelta(minutes=10)},
):
    # Two tasks: a backend that does not answer costs no second export.
    export = BashOperator(task_id="export", bash_command=f"env --unset OPENLINEAGE_URL daily {DAY}")
    push = BashOperator(task_id="push", bash_command='exporter push "$LINEAGE"')
    export >> push
