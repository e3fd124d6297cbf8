\ir parts/image_rows.sql
