// The request of the page as code for others to use.

/**
 * body is the JSON of POST /v1/audio/speech. The page speaks by WebSocket, which gives the model a token with
 * each frame: only so asked does HTTP give the same audio of a seed.
 */
export function body(text, settings, model, format = "wav") {
  const all = { model, input: text, response_format: format, non_streaming_mode: false };
  for (const [name, value] of Object.entries(settings)) {
    if (value === "" || value === null || value === undefined) continue;
    all[name] = name === "ref_audio" ? "data:audio/wav;base64,…" : value; // a megabyte that nobody reads
  }
  return all;
}

const KEY_NOTE = "MYNAH_API_KEY";

/** curl is a command line for POSIX shells. */
export function curl(origin, request, keyed) {
  const json = JSON.stringify(request, null, 2).replaceAll("\n", "\n  ").replaceAll("'", `'\\''`);
  const key = keyed ? `  -H "Authorization: Bearer $${KEY_NOTE}" \\\n` : "";
  return `curl \\\n  ${origin}/v1/audio/speech \\\n${key}  -H 'Content-Type: application/json' \\\n  -d '${json}' \\\n  -o speech.${request.response_format}`;
}

/** literal is a value as Python has it. Its strings take JSON's escapes. */
function literal(value) {
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}

const OPENAI = ["model", "input", "voice", "instructions", "response_format", "speed"];

/** python is a program for OpenAI's client. */
export function python(origin, request, keyed) {
  const known = Object.entries(request).filter(([name]) => OPENAI.includes(name));
  const extra = Object.fromEntries(Object.entries(request).filter(([name]) => !OPENAI.includes(name)));
  if (!request.voice) known.push(["voice", "default"]); // the client requires it
  const lines = known.map(([name, value]) => `    ${name}=${literal(value)},`);
  if (Object.keys(extra).length > 0) lines.push(`    extra_body={${Object.entries(extra).map(([name, value]) => `"${name}": ${literal(value)}`).join(", ")}},`);
  const key = keyed ? `os.environ["${KEY_NOTE}"]` : `"none"`;
  return `${keyed ? "import os\n" : ""}from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key=${key})
with client.audio.speech.with_streaming_response.create(
${lines.join("\n")}
) as response:
    response.stream_to_file("speech.${request.response_format}")`;
}

/** javascript is a module for pages. */
export function javascript(origin, request, keyed) {
  const { input, model, response_format, non_streaming_mode, ...settings } = request; // client.js has its own
  const key = keyed ? `, { key }` : "";
  return `import { Speaker } from "${origin}/client.js";

const speaker = new Speaker("${origin}"${key});
button.onclick = async () => {
  const speech = speaker.speak(${JSON.stringify(input)}, ${JSON.stringify(settings, null, 2).replaceAll("\n", "\n  ")});
  await speech.ended;
};`;
}
