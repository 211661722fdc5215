/** What can be wrong with an answer from a sandbox, in words for the person who wrote the server. */
export const RESPONSE_FAULTS = {
  closed_early: 'it closed the connection before it had answered',
  head_too_large: 'its response head is larger than 64 KiB',
  not_http: 'its answer does not start with an HTTP/1.1 or HTTP/1.0 status line',
  bad_header: 'a response header is malformed',
  folded_header: 'a response header is folded over several lines',
  bare_line_feed: 'a line of its response head ends in a bare line feed',
  ambiguous_length: 'its response gives its length more than once',
  bad_length: 'its Content-Length is not a number of bytes',
  bad_transfer_encoding: 'its Transfer-Encoding is not chunked',
  bad_chunk: 'a chunk of its response is malformed',
  truncated: 'its response ended before it was complete',
  too_many_informational: 'it sent more than 16 informational responses',
  unasked_upgrade: 'it switched protocols without being asked',
  bad_upgrade: 'its WebSocket handshake is malformed',
} as const;

export type ResponseFault = keyof typeof RESPONSE_FAULTS;
