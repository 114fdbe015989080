-- Why: a file that kills pump rooms costs the fleet two rooms, not three. One death may be the room's own fault, or a neighbour's
-- memory; a second one in another room is the file's.
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

alter table setting alter column room_deaths_allowed set default 2;
-- Three was the default until now. Who had chosen another number meant it.
update setting set room_deaths_allowed = 2 where room_deaths_allowed = 3;
