// How many edges a picture has that moves: all of them where they can be drawn in time,
// else a part, spread over the drawing, until it rests.

const MANY_LINES = 4000;
const IN_TIME_MS = 40;
const TOO_LATE_MS = 90;
const LEAST_SHARE = 1 / 32;
const REST_MS = 250;

/** 0 … number - 1 in an order whose beginnings are spread evenly over them. */
function spreadOut(number) {
  const divide = (a, b) => (b ? divide(b, a % b) : a);
  let step = Math.max(1, Math.round(0.618034 * number));
  while (number && divide(step, number) !== 1) step++;
  return Array.from({ length: number }, (_, k) => (k * step) % number);
}

/** Sets `style.share`, the share of the edges that is drawn. */
class Pace {
  constructor(style, redraw) {
    Object.assign(this, { style, redraw });
    this.share = 1;
    this.isMoving = false;
    style.share = 1;
  }

  /** The next picture is one of a movement. */
  move() {
    clearTimeout(this.timer);
    this.isMoving = true;
    this.style.share = this.share;
  }

  /** A picture with so many lines was sent off; judge it by when the next can be. */
  sent(lines) {
    if (!this.isMoving || lines < MANY_LINES) return;
    const start = performance.now();
    requestAnimationFrame(() => {
      this.judge(performance.now() - start);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.#rest(), REST_MS);
    });
  }

  judge(milliseconds) {
    if (milliseconds > TOO_LATE_MS) this.share = Math.max(this.share / 2, LEAST_SHARE);
    else if (milliseconds < IN_TIME_MS) this.share = Math.min(this.share * 1.5, 1);
  }

  #rest() {
    this.isMoving = false;
    if (this.style.share === 1) return;
    this.style.share = 1;
    this.redraw();
  }
}
