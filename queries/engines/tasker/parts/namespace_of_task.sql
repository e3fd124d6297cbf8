-- The template `n` and the namespace `p` of the task `t`.
    JOIN :"schema".named_tasks n ON n.named_task_uuid = t.named_task_uuid
    JOIN :"schema".task_namespaces p ON p.task_namespace_uuid = n.task_namespace_uuid
