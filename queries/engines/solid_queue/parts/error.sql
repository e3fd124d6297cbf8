       left(coalesce(nullif(regexp_replace(concat_ws(': ', substring(f.error FROM '"exception_class": ?"((?:[^"\\]|\\.)*)"'),
                                     substring(f.error FROM '"message": ?"((?:[^"\\]|\\.)*)"')), '\\(["\\/])', '\1', 'g'), ''), f.error), 300)
