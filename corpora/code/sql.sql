-- Booking system of a bicycle workshop: customers bring bicycles, mechanics
-- repair them, parts leave the shelf, and invoices are written at the end.
-- Written for SQLite 3.35 or later; run with:  sqlite3 workshop.db < sql.sql

PRAGMA foreign_keys = ON;

BEGIN TRANSACTION;

CREATE TABLE customer (
    customer_id   INTEGER PRIMARY KEY,
    full_name     TEXT    NOT NULL CHECK (length(trim(full_name)) > 0),
    email         TEXT    UNIQUE COLLATE NOCASE,
    phone         TEXT,
    created_at    TEXT    NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE bicycle (
    bicycle_id    INTEGER PRIMARY KEY,
    customer_id   INTEGER NOT NULL REFERENCES customer (customer_id) ON DELETE CASCADE,
    brand         TEXT    NOT NULL,
    frame_number  TEXT    NOT NULL UNIQUE,
    kind          TEXT    NOT NULL DEFAULT 'city'
                  CHECK (kind IN ('city', 'road', 'mountain', 'cargo', 'electric'))
);

CREATE TABLE mechanic (
    mechanic_id   INTEGER PRIMARY KEY,
    full_name     TEXT    NOT NULL,
    hourly_rate   NUMERIC NOT NULL CHECK (hourly_rate BETWEEN 10 AND 200),
    trained_by    INTEGER REFERENCES mechanic (mechanic_id)
);

CREATE TABLE part (
    part_id       INTEGER PRIMARY KEY,
    sku           TEXT    NOT NULL UNIQUE,
    description   TEXT    NOT NULL,
    unit_price    NUMERIC NOT NULL CHECK (unit_price >= 0),
    on_hand       INTEGER NOT NULL DEFAULT 0 CHECK (on_hand >= 0),
    reorder_level INTEGER NOT NULL DEFAULT 5
);

CREATE TABLE repair (
    repair_id     INTEGER PRIMARY KEY,
    bicycle_id    INTEGER NOT NULL REFERENCES bicycle (bicycle_id),
    mechanic_id   INTEGER REFERENCES mechanic (mechanic_id),
    received_on   DATE    NOT NULL,
    finished_on   DATE,
    hours         NUMERIC NOT NULL DEFAULT 0,
    complaint     TEXT,
    CHECK (finished_on IS NULL OR finished_on >= received_on)
);

CREATE TABLE repair_part (
    repair_id     INTEGER NOT NULL REFERENCES repair (repair_id) ON DELETE CASCADE,
    part_id       INTEGER NOT NULL REFERENCES part (part_id),
    quantity      INTEGER NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (repair_id, part_id)
) WITHOUT ROWID;

CREATE INDEX idx_bicycle_customer ON bicycle (customer_id);
CREATE INDEX idx_repair_received  ON repair (received_on DESC);
-- Most queries only care about repairs which are still open.
CREATE INDEX idx_repair_open      ON repair (mechanic_id) WHERE finished_on IS NULL;

CREATE TRIGGER take_part_from_shelf
AFTER INSERT ON repair_part
FOR EACH ROW
BEGIN
    UPDATE part
       SET on_hand = on_hand - NEW.quantity
     WHERE part_id = NEW.part_id;
END;

INSERT INTO customer (customer_id, full_name, email, phone) VALUES
    (1, 'Agnieszka Wójcik', 'agnieszka@example.com', '+48 555 0101'),
    (2, 'Ben O''Connor',    'ben@example.com',       NULL),
    (3, 'Léa Fontaine',     'lea@example.com',       '+33 555 0170'),
    (4, 'Rahul Menon',      NULL,                    '+91 555 0144');

INSERT INTO bicycle (bicycle_id, customer_id, brand, frame_number, kind) VALUES
    (10, 1, 'Northwind', 'NW-2031-A', 'road'),
    (11, 1, 'Packhorse', 'PH-0007',   'cargo'),
    (12, 2, 'Northwind', 'NW-1188-C', 'city'),
    (13, 3, 'Voltaire',  'VT-9A3F',   'electric'),
    (14, 4, 'Goatherd',  'GH-4410',   'mountain');

INSERT INTO mechanic (mechanic_id, full_name, hourly_rate, trained_by) VALUES
    (1, 'Marta Ilves',  58.00, NULL),
    (2, 'Dušan Petrov', 49.50, 1),
    (3, 'Kim Adeyemi',  36.00, 2);

INSERT INTO part (part_id, sku, description, unit_price, on_hand) VALUES
    (100, 'CHN-09', 'Chain, 9-speed',           24.90, 12),
    (101, 'TUB-28', 'Inner tube 28"',            6.50, 40),
    (102, 'BRK-PD', 'Brake pads (pair)',        14.00,  8),
    (103, 'BAT-36', 'Battery 36 V / 14.5 Ah',  429.00,  2),
    (104, 'SPK-SS', 'Spoke, stainless, 292 mm',  0.85, 96);

INSERT INTO repair
    (repair_id, bicycle_id, mechanic_id, received_on, finished_on, hours, complaint)
VALUES
    (1000, 10, 1, '2024-03-04', '2024-03-05', 1.50, 'chain jumps under load'),
    (1001, 12, 3, '2024-03-06', '2024-03-06', 0.50, 'flat tyre, again'),
    (1002, 13, 2, '2024-03-11', '2024-03-19', 3.25, 'dies after 5 km'),
    (1003, 14, 2, '2024-04-02', '2024-04-04', 2.00, 'rear wheel 100% out of true'),
    (1004, 11, 1, '2024-04-15', NULL,         0.75, 'brakes squeal'),
    (1005, 12, NULL, '2024-04-16', NULL,      0,    NULL);

INSERT INTO repair_part (repair_id, part_id, quantity) VALUES
    (1000, 100, 1), (1001, 101, 2), (1002, 103, 1), (1003, 104, 14), (1004, 102, 2);

COMMIT;

-- What each repair costs, labour and material on one line.
CREATE VIEW repair_cost AS
SELECT r.repair_id,
       c.full_name                                        AS customer,
       b.brand || ' ' || b.kind                           AS bicycle,
       strftime('%Y-%m', r.received_on)                   AS month,
       r.finished_on IS NOT NULL                          AS is_finished,
       round(r.hours * coalesce(m.hourly_rate, 0), 2)     AS labour,
       round(coalesce(sum(rp.quantity * p.unit_price), 0), 2) AS material
  FROM repair AS r
  JOIN bicycle  AS b USING (bicycle_id)
  JOIN customer AS c USING (customer_id)
  LEFT JOIN mechanic    AS m  USING (mechanic_id)
  LEFT JOIN repair_part AS rp USING (repair_id)
  LEFT JOIN part        AS p  USING (part_id)
 GROUP BY r.repair_id;

-- Monthly income with a running total and the change to the month before.
WITH monthly AS (
    SELECT month,
           count(*)               AS repairs,
           sum(labour + material) AS income
      FROM repair_cost
     WHERE is_finished
     GROUP BY month
)
SELECT month,
       repairs,
       printf('%.2f', income)                         AS income,
       printf('%.2f', sum(income) OVER running)       AS running_total,
       round(100.0 * (income / lag(income) OVER running - 1), 1) AS change_percent
  FROM monthly
WINDOW running AS (ORDER BY month ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
 ORDER BY month;

-- The most expensive repair of every customer.
SELECT customer, bicycle, total
  FROM (SELECT customer,
               bicycle,
               labour + material AS total,
               row_number() OVER (PARTITION BY customer
                                  ORDER BY labour + material DESC) AS rank_no
          FROM repair_cost)
 WHERE rank_no = 1
   AND total > 0
 ORDER BY total DESC;

-- Who trained whom, as an indented tree.
WITH RECURSIVE lineage (mechanic_id, full_name, depth, path) AS (
    SELECT mechanic_id, full_name, 0, full_name
      FROM mechanic
     WHERE trained_by IS NULL
     UNION ALL
    SELECT m.mechanic_id, m.full_name, l.depth + 1, l.path || ' > ' || m.full_name
      FROM mechanic AS m
      JOIN lineage  AS l ON m.trained_by = l.mechanic_id
)
SELECT substr('........', 1, depth * 2) || full_name AS mechanic
  FROM lineage
 ORDER BY path;

-- TODO: send this list to the wholesaler every Friday
SELECT sku,
       description,
       reorder_level * 2 - on_hand AS to_order,
       CASE WHEN on_hand = 0            THEN 'urgent'
            WHEN on_hand < reorder_level THEN 'soon'
            ELSE 'fine'
       END AS state
  FROM part
 WHERE on_hand < reorder_level
 ORDER BY on_hand;
