# A throw-away mail server: Dovecot for IMAP, Exim for SMTP. It never relays. Arguments: the folder, and the
# ports of IMAP, IMAP with TLS, submission, submission with TLS, of SMTP without login, and of whoever knows the tokens.
D=$1 imap=$2 imaps=$3 submission=$4 submissions=$5 smtp=$6 introspection=$7
set -e
exec 2>"$D/log"
mkdir "$D/run" "$D/state" "$D/store" "$D/spool"
id vmail >/dev/null 2>&1 || useradd -r -M -d /nonexistent -s /usr/sbin/nologin vmail
chown vmail "$D/store"

# A small authority and what it issued: rustls refuses an authority as a server.
new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
openssl req -x509 $new -days 30 -keyout "$D/ca.key" -out "$D/ca.pem" -subj '/CN=Test CA'
openssl req -x509 $new -days 30 -keyout "$D/stranger.key" -out "$D/stranger.pem" -subj '/CN=Somebody else'
openssl req $new -keyout "$D/key.pem" -out "$D/server.csr" -subj /CN=localhost
issue() {
    printf 'basicConstraints=critical,CA:FALSE\nsubjectAltName=%s\n' "$3" >"$D/server.ext"
    openssl x509 -req -days "$2" -in "$D/server.csr" -CA "$D/ca.pem" -CAkey "$D/ca.key" -CAcreateserial \
        -extfile "$D/server.ext" -out "$D/$1"
}
issue cert.pem 30 DNS:localhost,IP:127.0.0.1
# The only way of this openssl to a time that is past.
printf '[ca]\ndefault_ca=it\n[it]\ndatabase=%s\nserial=%s\nnew_certs_dir=%s\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n' \
    "$D/issued" "$D/ca.srl" "$D" >"$D/ca.conf"
: >"$D/issued"
openssl ca -batch -notext -config "$D/ca.conf" -in "$D/server.csr" -cert "$D/ca.pem" -keyfile "$D/ca.key" \
    -extfile "$D/server.ext" -startdate 20200101000000Z -enddate 20200201000000Z -out "$D/expired.pem"
issue other.pem 30 DNS:elsewhere.test

: >"$D/users"; : >"$D/names"
for name in bot alice bob carol; do
    echo "$name@example.test:{PLAIN}$name-secret::::::" >>"$D/users"
    echo "$name@example.test: $name-secret" >>"$D/names"
done
# A mailbox that is full, and one that Exim believes in and Dovecot doesn't have.
echo 'full@example.test:{PLAIN}full-secret::::::userdb_quota_rule=*:bytes=100' >>"$D/users"
echo 'full@example.test: full-secret' >>"$D/names"
echo 'ghost@example.test: ghost-secret' >>"$D/names"

cat >"$D/dovecot.conf" <<C
base_dir=$D/run
state_dir=$D/state
log_path=$D/dovecot.log
protocols=imap lmtp
listen=127.0.0.1
ssl=yes
ssl_cert=<$D/cert.pem
ssl_key=<$D/key.pem
disable_plaintext_auth=no
auth_mechanisms=plain login xoauth2 oauthbearer
auth_failure_delay=0
mail_location=maildir:$D/store/%u/Maildir
mail_uid=vmail
mail_gid=vmail
mail_fsync=never
first_valid_uid=1
mail_plugins=quota
mail_max_userip_connections=100
passdb {
  driver=passwd-file
  mechanisms=plain login
  args=username_format=%u $D/users
}
passdb {
  driver=oauth2
  mechanisms=xoauth2 oauthbearer
  args=$D/oauth2.conf
}
userdb {
  driver=passwd-file
  args=username_format=%u $D/users
  default_fields=uid=vmail gid=vmail home=$D/store/%u
}
plugin {
  quota=maildir:all
}
namespace inbox {
  inbox=yes
  separator=/
  mailbox Drafts {
    special_use=\Drafts
    auto=subscribe
  }
  mailbox Sent {
    special_use=\Sent
    auto=subscribe
  }
  mailbox Trash {
    special_use=\Trash
    auto=subscribe
  }
}
service imap-login {
  inet_listener imap {
    port=$imap
  }
  inet_listener imaps {
    port=$imaps
    ssl=yes
  }
}
service lmtp {
  unix_listener lmtp {
    mode=0666
  }
}
service stats {
  unix_listener stats-writer {
    mode=0666
  }
}
C
cat >"$D/oauth2.conf" <<C
introspection_url=http://127.0.0.1:$introspection/
introspection_mode=auth
username_attribute=email
active_attribute=active
active_value=true
C
# Written by the tests: a token and its address on each line.
: >"$D/tokens"
cat >"$D/exim.conf" <<C
primary_hostname = mail.example.test
spool_directory = $D/spool
log_file_path = $D/exim_%s.log
pid_file_path = $D/exim.pid
daemon_smtp_ports = $smtp : $submission : $submissions
local_interfaces = 127.0.0.1
tls_on_connect_ports = $submissions
tls_advertise_hosts = *
tls_certificate = $D/cert.pem
tls_privatekey = $D/key.pem
auth_advertise_hosts = \${if eq{\$tls_in_cipher}{}{}{*}}
smtputf8_advertise_hosts = \${if eq{\$received_port}{$submissions}{}{*}}
domainlist local_domains = example.test
host_lookup =
rfc1413_hosts =
rfc1413_query_timeout = 0s
never_users =
message_size_limit = 10M
prdr_enable = false
deliver_drop_privilege = true
keep_environment =
acl_smtp_rcpt = acl_rcpt
acl_smtp_data = accept
smtp_accept_max_per_connection = 1000
begin acl
acl_rcpt:
  deny    message = authentication required
          condition = \${if eq{\$received_port}{$smtp}{0}{1}}
          !authenticated = *
  require message = relaying denied
          domains = +local_domains
  require message = no such user
          verify = recipient
  accept
begin routers
box:
  driver = accept
  domains = +local_domains
  condition = \${lookup{\$local_part@\$domain}lsearch{$D/names}{yes}{no}}
  transport = dovecot
begin transports
dovecot:
  driver = lmtp
  socket = $D/run/lmtp
  batch_max = 1
begin retry
* * F,1m,1s
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = \${if and{{!eq{\$auth3}{}}{eq{\$auth3}{\${lookup{\$auth2}lsearch{$D/names}}}}}}
  server_set_id = \$auth2
login:
  driver = plaintext
  public_name = LOGIN
  server_prompts = Username:: : Password::
  server_condition = \${if and{{!eq{\$auth2}{}}{eq{\$auth2}{\${lookup{\$auth1}lsearch{$D/names}}}}}}
  server_set_id = \$auth1
xoauth2:
  driver = plaintext
  public_name = XOAUTH2
  server_condition = \${if match{\$auth1}{\N^user=([^\x01]+)\x01auth=Bearer ([^\x01]+)\x01\x01\$\N}\
    {\${if eq{\$1}{\${lookup{\$2}lsearch{$D/tokens}}}}}{no}}
  server_set_id = \${if match{\$auth1}{\N^user=([^\x01]+)\N}{\$1}}
C
chmod 755 "$D"
chmod 666 "$D/tokens"
chmod 644 "$D/users" "$D/oauth2.conf" "$D/exim.conf" "$D"/*.pem "$D"/*.key
chown -R Debian-exim:Debian-exim "$D/spool"
chown Debian-exim "$D" "$D/names"
chgrp Debian-exim "$D/key.pem"
chmod 640 "$D/key.pem"
chmod 600 "$D/names"
stop() {
    /usr/bin/doveadm -c "$D/dovecot.conf" stop
    kill "$(cat "$D/exim.pid")"
    rm -rf "$D"
}
/usr/sbin/dovecot -c "$D/dovecot.conf"
/usr/sbin/exim4 -C "$D/exim.conf" -bd -q10s >/dev/null
set +e
echo ready
read -r _
stop
