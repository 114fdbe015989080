-- Why: a queue or a tenant with a name that cannot be used was refused by a constraint of its table, whose words and SQL reached the user.
-- And of the name, the key and the labels of a batch, the refusal did not say which is too long.
--
-- Compatible from: 23
select set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = current_schema();

do $$
begin
    perform change_function(v.name, v.before, v.behind) from (values
        ('queue_for', $x$        -- The exact count is taken only$x$, $x$        if queue_name is null or queue_name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' then
            raise exception '"%" cannot be the name of a queue', left(queue_name, 100)
                using errcode = 'invalid_parameter_value',
                      hint = 'allowed: 1 to 63 letters, digits and . _ - beginning with a letter or a digit';
        end if;
        -- The exact count is taken only$x$),
        ('create_tenant', $x$    insert into tenant$x$, $x$    if tenant_name is null or tenant_name !~ '^[A-Za-z0-9][A-Za-z0-9._@+-]{0,49}$' then
        raise exception '"%" cannot be the name of a tenant', left(tenant_name, 100)
            using errcode = 'invalid_parameter_value',
                  hint = 'allowed: 1 to 50 letters, digits and . _ @ + - beginning with a letter or a digit';
    end if;
    insert into tenant$x$),
        ('create_token', $x$    elsif exists (select from token k$x$, $x$    elsif queue_name <> '' and queue_name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' then
        raise exception '"%" cannot be the name of a queue', left(queue_name, 100)
            using errcode = 'invalid_parameter_value',
                  hint = 'allowed: 1 to 63 letters, digits and . _ - beginning with a letter or a digit';
    elsif exists (select from token k$x$),
        ('submit', $x$    if greatest(octet_length(submit.batch_name), octet_length(submit.batch_key)) > 1000
        or octet_length(submit.batch_labels::text) > most or octet_length(submit.request_digest) > 1000
    then
        raise exception 'the name, the key or the labels of the batch are too long'
            using errcode = 'invalid_parameter_value', hint = format('1000 bytes for names and keys, %s for labels', most);
    end if;$x$, $x$    if octet_length(submit.batch_name) > 1000 then
        raise exception 'the name of the batch takes % bytes, and may take 1000', octet_length(submit.batch_name)
            using errcode = 'invalid_parameter_value';
    elsif octet_length(submit.batch_key) > 1000 then
        raise exception 'the key of the batch takes % bytes, and may take 1000', octet_length(submit.batch_key)
            using errcode = 'invalid_parameter_value';
    elsif octet_length(submit.request_digest) > 1000 then
        raise exception 'the digest of the request takes % bytes, and may take 1000', octet_length(submit.request_digest)
            using errcode = 'invalid_parameter_value';
    elsif octet_length(submit.batch_labels::text) > most then
        raise exception 'the labels of the batch take % bytes, and may take %', octet_length(submit.batch_labels::text), most
            using errcode = 'invalid_parameter_value';
    end if;$x$)
    ) as v (name, before, behind);
end $$;

select set_config('role', 'none', true);
