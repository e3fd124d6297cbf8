-- The status of a job in a sentence.
       replace(replace(replace('it is ' ||
\ir status.sql
         , 'is no execution', 'has no execution'), 'is failed', 'has failed'), 'it is claimed', 'a process has claimed it')
