// The one file that Pulumi's loader sees: it would hand any TypeScript to a compiler, which Node needs none of.
import './pack.ts';
