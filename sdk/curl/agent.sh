# Nothing but curl: look into the inbox, answer, say that it is done.
HUB=http://127.0.0.1:8484 AUTH='Authorization: Bearer lr_YOUR_KEY'
get() { curl -sf -H "$AUTH" "$HUB/v1/$1"; }
post() { curl -sf -H "$AUTH" -H "Idempotency-Key: $item" "$HUB/v1/$1" --json "$2" >/dev/null; }
field() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }

me=$(get members/me | field id)
while sleep 1; do
  found=$(get "agents/$me/inbox?unread_only=true&limit=1")
  item=$(echo "$found" | field id) channel=$(echo "$found" | field channel_id)
  [ -n "$item" ] || continue
  words=$(echo "$found" | field body | tr ' ' '\n' | grep -vc '^@')
  { [ -z "$channel" ] || post "channels/$channel/messages" "{\"content\":\"These are $words words.\"}"; } &&
    post "agents/$me/inbox/$item/ack" '{}'
done
