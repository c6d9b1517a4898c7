// What the graphics card does: edges that know their score, nodes that have a shape.
// The threshold is one number for all edges, so moving it sends no edge again. Corners
// are written out rather than drawn as instances, which take three times as long where
// there is no graphics card.

const { EdgeProgram, NodeProgram, Graph, Sigma, floatColor } = sigmaBundle;
const { FLOAT, UNSIGNED_BYTE, TRIANGLES } = WebGLRenderingContext;

const EDGE_VERTEX = `
attribute vec2 a_start;
attribute vec2 a_end;
attribute float a_score;
attribute float a_emphasis;
attribute float a_taper;
attribute float a_corner;
uniform mat3 u_matrix;
uniform float u_width;
uniform vec2 u_screen;
uniform float u_pixel;
uniform float u_threshold;
uniform float u_pass;
uniform vec4 u_kept;
uniform vec4 u_removed;
uniform vec4 u_focus;
varying float v_across;
varying float v_half;
varying float v_distance;
varying vec4 v_colour;

void main() {
  float along = a_corner > 1.5 ? 1.0 : 0.0;
  float side = mod(a_corner, 2.0) * 2.0 - 1.0;
  vec2 start = (u_matrix * vec3(a_start, 1.0)).xy * u_screen;
  vec2 end = (u_matrix * vec3(a_end, 1.0)).xy * u_screen;
  float reach = length(end - start);
  float kept = a_score > u_threshold ? 1.0 : 0.0;
  if (reach < 0.001 || kept != u_pass) {
    gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
    return;
  }
  vec2 direction = (end - start) / reach;
  float taper = a_taper > 0.5 ? mix(0.45, 1.7, along) : 1.0;
  float focus = a_emphasis > 1.5 ? 1.0 : 0.0;
  v_half = 0.5 * u_width * taper * u_pixel * (1.0 + 0.8 * focus);
  float reach_across = v_half + 0.5 * u_pixel;
  v_across = side * reach_across;
  v_distance = along * reach / u_pixel;
  vec2 place = mix(start, end, along) + vec2(-direction.y, direction.x) * v_across;
  gl_Position = vec4(place / u_screen, 0.0, 1.0);
  v_colour = kept > 0.5 ? mix(u_kept, u_focus, focus) : u_removed;
  v_colour.a = focus > 0.5 ? max(v_colour.a, 0.85) : v_colour.a;
  v_colour.a *= a_emphasis < 0.25 ? 0.12 : a_emphasis < 0.75 ? 0.4 : 1.0;
}`;

const EDGE_FRAGMENT = `
precision highp float;
uniform float u_pass;
uniform float u_pixel;
varying float v_across;
varying float v_half;
varying float v_distance;
varying vec4 v_colour;

void main() {
  if (u_pass < 0.5 && mod(v_distance, 9.0) > 5.0) discard;
  float cover = clamp((v_half - abs(v_across)) / u_pixel + 0.5, 0.0, 1.0);
  float alpha = v_colour.a * cover;
  gl_FragColor = vec4(v_colour.rgb * alpha, alpha);
}`;

/** The two triangles of a quad, by the numbers of their corners. */
const CORNERS = [0, 1, 2, 2, 1, 3];

/** Write the values of an item once for every corner. */
function writeCorners(program, values, start) {
  const { array } = program;
  let at = start;
  for (const corner of CORNERS) {
    for (let k = 0; k < values.length; k++) array[at++] = values[k];
    array[at++] = corner;
  }
  program.version = (program.version ?? 0) + 1;
}

/** Bind the attributes, and send the values only if they have changed. */
function bindOnce(program, info) {
  const { gl, buffer } = info;
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  let offset = 0;
  for (const attribute of program.ATTRIBUTES) {
    offset += program.bindAttribute(attribute, info, offset);
  }
  if (info.version !== program.version) {
    gl.bufferData(gl.ARRAY_BUFFER, program.array, gl.DYNAMIC_DRAW);
    info.version = program.version;
  }
  gl.bindBuffer(gl.ARRAY_BUFFER, null);
}

/** Programs read how things look now from `style`, which the drawing owns. */
function makeEdgeProgram(style) {
  return class extends EdgeProgram {
    getDefinition() {
      return {
        VERTICES: 6,
        VERTEX_SHADER_SOURCE: EDGE_VERTEX,
        FRAGMENT_SHADER_SOURCE: EDGE_FRAGMENT,
        METHOD: TRIANGLES,
        UNIFORMS: [
          "u_matrix", "u_screen", "u_pixel", "u_threshold", "u_pass",
          "u_width", "u_kept", "u_removed", "u_focus",
        ],
        ATTRIBUTES: [
          { name: "a_start", size: 2, type: FLOAT },
          { name: "a_end", size: 2, type: FLOAT },
          { name: "a_score", size: 1, type: FLOAT },
          { name: "a_emphasis", size: 1, type: FLOAT },
          { name: "a_taper", size: 1, type: FLOAT },
          { name: "a_corner", size: 1, type: FLOAT },
        ],
      };
    }

    processVisibleItem(id, start, source, target, edge) {
      // The half at a node is the message that reaches it, where both directions differ.
      const from = edge.half ? 0.5 : 0;
      const values = [
        source.x + (target.x - source.x) * from,
        source.y + (target.y - source.y) * from,
        target.x,
        target.y,
        style.scoreOf(edge.position),
        style.emphasisOf(edge.position),
        edge.taper ? 1 : 0,
      ];
      writeCorners(this, values, start);
    }

    bindProgram(program) {
      bindOnce(this, program);
    }

    setUniforms(params, { gl, uniformLocations: at }) {
      const pixel = params.pixelRatio;
      gl.uniformMatrix3fv(at.u_matrix, false, params.matrix);
      gl.uniform2f(at.u_screen, (params.width * pixel) / 2, (params.height * pixel) / 2);
      gl.uniform1f(at.u_pixel, pixel);
      gl.uniform1f(at.u_threshold, style.threshold);
      gl.uniform1f(at.u_width, style.width);
      gl.uniform4fv(at.u_kept, style.kept);
      gl.uniform4fv(at.u_removed, style.removed);
      gl.uniform4fv(at.u_focus, style.focus);
    }

    drawWebGL(method, { gl, frameBuffer }) {
      const edges = Math.ceil((style.share * this.verticesCount) / this.VERTICES);
      gl.bindFramebuffer(gl.FRAMEBUFFER, frameBuffer);
      gl.drawArrays(method, 0, this.VERTICES * edges);
    }

    renderProgram(params, info) {
      const { gl } = info;
      gl.enable(gl.BLEND);
      gl.useProgram(info.program);
      this.setUniforms(params, info);
      // Removed edges first: kept ones lie on top.
      for (const pass of style.showRemoved ? [0, 1] : [1]) {
        gl.uniform1f(info.uniformLocations.u_pass, pass);
        this.drawWebGL(this.METHOD, info);
      }
    }
  };
}

const NODE_VERTEX = `
attribute vec4 a_colour;
attribute vec2 a_place;
attribute float a_size;
attribute float a_shape;
attribute float a_ring;
attribute float a_faded;
attribute float a_corner;
uniform mat3 u_matrix;
uniform vec2 u_screen;
uniform float u_pixel;
uniform float u_sizeRatio;
varying vec4 v_colour;
varying vec2 v_at;
varying float v_radius;
varying float v_shape;
varying float v_ring;
varying float v_faded;

void main() {
  v_radius = a_size / u_sizeRatio * u_pixel;
  vec2 corner = vec2(mod(a_corner, 2.0), a_corner > 1.5 ? 1.0 : 0.0) * 2.0 - 1.0;
  v_at = corner * 1.4;
  vec2 centre = (u_matrix * vec3(a_place, 1.0)).xy * u_screen;
  gl_Position = vec4((centre + v_at * v_radius) / u_screen, 0.0, 1.0);
  v_shape = a_shape;
  v_ring = a_ring;
  v_faded = a_faded;
  v_colour = a_colour;
  v_colour.a *= 255.0 / 254.0;
}`;

const NODE_FRAGMENT = `
precision highp float;
uniform float u_pixel;
uniform vec3 u_ring;
uniform vec3 u_gap;
varying vec4 v_colour;
varying vec2 v_at;
varying float v_radius;
varying float v_shape;
varying float v_ring;
varying float v_faded;

float outline(vec2 at) {
  if (v_shape < 0.5) return length(at) - 1.0;
  vec2 side = abs(at);
  if (v_shape < 1.5) return max(side.x, side.y) - 0.88;
  if (v_shape < 2.5) return (side.x + side.y - 1.25) * 0.7071;
  float up = v_shape < 3.5 ? at.y : -at.y;
  return max(-up - 0.68, side.x * 0.87 + up * 0.5 - 0.68);
}

void main() {
  float distance = outline(v_at) * v_radius;
  // Small nodes have no room for a border that only keeps neighbours apart.
  float gap = clamp(0.25 * v_radius - 0.4 * u_pixel, 0.0, 0.8 * u_pixel);
  float border = v_ring > 0.5 ? max(0.24 * v_radius, 0.9 * u_pixel) : gap;
  vec3 edge = v_ring > 0.5 ? u_ring : u_gap;
  float inside = clamp((-distance - border) / u_pixel + 0.5, 0.0, 1.0);
  float cover = clamp(-distance / u_pixel + 0.5, 0.0, 1.0);
  vec3 colour = mix(edge, v_colour.rgb, inside);
  float alpha = cover * (v_faded > 0.5 ? 0.14 : 1.0);
  gl_FragColor = vec4(colour * alpha, alpha);
}`;

function makeNodeProgram(style) {
  return class extends NodeProgram {
    constructor(gl, picking, renderer) {
      // The drawing finds the node below the pointer by itself.
      super(gl, null, renderer);
    }

    getDefinition() {
      return {
        VERTICES: 6,
        VERTEX_SHADER_SOURCE: NODE_VERTEX,
        FRAGMENT_SHADER_SOURCE: NODE_FRAGMENT,
        METHOD: TRIANGLES,
        UNIFORMS: ["u_matrix", "u_screen", "u_pixel", "u_sizeRatio", "u_ring", "u_gap"],
        ATTRIBUTES: [
          { name: "a_place", size: 2, type: FLOAT },
          { name: "a_size", size: 1, type: FLOAT },
          { name: "a_colour", size: 4, type: UNSIGNED_BYTE, normalized: true },
          { name: "a_shape", size: 1, type: FLOAT },
          { name: "a_ring", size: 1, type: FLOAT },
          { name: "a_faded", size: 1, type: FLOAT },
          { name: "a_corner", size: 1, type: FLOAT },
        ],
      };
    }

    processVisibleItem(id, start, node) {
      const values = [
        node.x, node.y, node.size, floatColor(node.color),
        node.shape, node.ring ? 1 : 0, node.faded ? 1 : 0,
      ];
      writeCorners(this, values, start);
    }

    bindProgram(program) {
      bindOnce(this, program);
    }

    setUniforms(params, { gl, uniformLocations: at }) {
      const pixel = params.pixelRatio;
      gl.uniformMatrix3fv(at.u_matrix, false, params.matrix);
      gl.uniform2f(at.u_screen, (params.width * pixel) / 2, (params.height * pixel) / 2);
      gl.uniform1f(at.u_pixel, pixel);
      gl.uniform1f(at.u_sizeRatio, params.sizeRatio);
      gl.uniform3fv(at.u_ring, style.ring);
      gl.uniform3fv(at.u_gap, style.gap);
    }
  };
}
